// The extension module weft._torch. Python's side of it is weft/torch.py.
// Our headers come first: glog, which torch brings, also defines CHECK.
#include <stdexcept>
#include <tuple>

#include "bindings/python/torch_backend.h"
#include "bindings/python/torch_training.h"
#include "runtime/net/store.h"

#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace weft::bindings {
namespace {

using torch::jit::PythonFutureWrapper;

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) throw std::runtime_error("weft: " + result.error().text());
  return std::move(*result);
}

// A future that knows its place, so that operations called in its callbacks are matched by it,
// whichever thread runs them and whenever.
//
// pybind11 would cast from the enable_shared_from_this that torch's class has, which is not
// polymorphic; a second one hides it. So it is the pointer to torch's class that must own.
struct OrderedFuture : PythonFutureWrapper, std::enable_shared_from_this<OrderedFuture> {
  using WorkHandle = c10::intrusive_ptr<WeftWork>;
  // Without a work it is the future of a callback.
  static std::shared_ptr<OrderedFuture> make(c10::intrusive_ptr<c10::ivalue::Future> future,
                                             NodePtr place, WorkHandle work) {
    auto* made = new OrderedFuture(std::move(future), std::move(place), std::move(work));
    const std::shared_ptr<PythonFutureWrapper> owner(
        static_cast<PythonFutureWrapper*>(made),
        [](PythonFutureWrapper* owned) { delete static_cast<OrderedFuture*>(owned); });
    return {owner, made};
  }
  OrderedFuture(c10::intrusive_ptr<c10::ivalue::Future> future, NodePtr place, WorkHandle of)
      : PythonFutureWrapper(std::move(future)), node(std::move(place)), work(std::move(of)) {}

  static py::cpp_function in_place(py::function callback, Lineage lineage) {
    return py::cpp_function([callback, lineage](py::object future) {
      const InCallback here(&lineage);
      return callback(future);
    });
  }
  std::shared_ptr<OrderedFuture> then(py::function callback) {
    const Lineage lineage = node->next_callback();
    auto child = PythonFutureWrapper::then(in_place(std::move(callback), lineage));
    return make(child->fut, std::make_shared<Node>(lineage), {});
  }
  py::object wait() {
    if (work) work->complete();
    return PythonFutureWrapper::wait();
  }
  void add_done_callback(py::function callback) {
    PythonFutureWrapper::add_done_callback(in_place(std::move(callback), node->next_callback()));
  }

  NodePtr node;
  WorkHandle work;
};

py::object future_of(const c10::intrusive_ptr<WeftWork>& work) {
  auto future = work->getFuture();
  if (!work->node()) return py::cast(std::make_shared<PythonFutureWrapper>(future));
  return py::cast(OrderedFuture::make(future, work->node(), work));
}

// What `with weft.torch.stream(n):` enters.
class StreamScope {
 public:
  StreamScope(std::uint32_t stream, double priority) : stream_(stream), priority_(priority) {
    if (stream < 1 || stream > kMostNamed) {
      throw py::value_error("a stream is a number from 1 to " + std::to_string(kMostNamed) +
                            "; got " + std::to_string(stream));
    }
  }
  void enter() { named_ = std::make_unique<Named>(stream_, priority_); }
  void leave(const py::args&) { named_.reset(); }

 private:
  const std::uint32_t stream_;
  const double priority_;
  std::unique_ptr<Named> named_;
};

using Handle = c10::intrusive_ptr<TorchBackend>;

Handle start(const std::string& store, const std::string& secret, int rank, int size,
             const std::string& id, std::chrono::milliseconds timeout) {
  const bool given = !store.empty();
  auto options = given ? runtime::GroupOptions{} : take(runtime::GroupOptions::from_environment());
  if (given) {
    options.store = store;
    options.secret = take(runtime::Secret::from_hex(secret));
    options.rank = rank;
    options.ranks = size;
    options.member = static_cast<std::uint32_t>(rank);
    options.job = runtime::job_of(options.secret);
  }
  options.deadline_s = std::chrono::duration<double>(timeout).count();
  return c10::make_intrusive<TorchBackend>(take(runtime::Group::start(options)), id, timeout);
}

Handle subgroup(TorchBackend& parent, const std::vector<int>& ranks, const std::string& id,
                std::chrono::milliseconds timeout) {
  return c10::make_intrusive<TorchBackend>(take(parent.group().subgroup(ranks)), id, timeout);
}

// A goodbye ends what the others have under way, so at the end of a program ranks leave together.
void leave(TorchBackend& self, double wait_s) {
  auto& group = self.group();
  if (wait_s > 0 && group.size() > 1 && group.broken().empty()) {
    const Status ready =
        group.barrier({.deadline_s = wait_s, .stream = kDeparture, .priority = 0})->wait();
    static_cast<void>(ready);  // who cannot be waited for is left behind
  }
  group.leave();
}

// A store that one process serves when there is no launcher.
struct Store {
  explicit Store(const std::string& address)
      : secret(take(runtime::Secret::fresh())),
        server(take(runtime::StoreServer::start(address, secret))) {}
  runtime::Secret secret;
  std::unique_ptr<runtime::StoreServer> server;
};

void define_group(py::module_& module) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<TorchBackend, Handle, TorchGroup>(module, "ProcessGroup")
      .def("live_size", &TorchBackend::live_size, "Members today.")
      .def("live_rank", &TorchBackend::live_rank, "This process's rank among them.")
      .def(
          "membership",
          [](TorchBackend& self) {
            const auto now = self.group().membership();
            return py::make_tuple(now.epoch(), now.members, now.seats);
          },
          "(epoch, member numbers by rank, seats by rank).")
      .def(
          "reform", [](TorchBackend& self, double deadline_s) { self.reform(deadline_s); },
          py::arg("deadline_s"), Release(), "Agrees with those that are left.")
      .def(
          "renewed",
          [](TorchBackend& self, const std::string& id) {
            return c10::make_intrusive<TorchBackend>(self.shared_group(), id, self.timeout());
          },
          py::arg("id"), "The same members as a new group, whose size() is that of today.")
      .def("links", [](TorchBackend& self) { return runtime::to_text(self.group().links()); })
      .def(
          "measure_links_again",
          [](TorchBackend& self) {
            const Status measured = self.group().measure_links_again();
            if (!measured.ok()) throw std::runtime_error("weft: " + measured.error().text());
          },
          Release(), "All ranks of the whole group call it, while nothing is under way.")
      .def("let_order_vary", [](TorchBackend& self) { self.group().let_order_vary(); })
      .def("joiners", [](TorchBackend& self) { return self.group().joiners(); })
      .def("broken", [](TorchBackend& self) { return self.group().broken(); })
      .def("lost_seats", [](TorchBackend& self) { return self.group().lost_seats(); })
      .def("leave", &leave, py::arg("wait_s") = 0.0, Release(),
           "Says goodbye, after waiting up to wait_s for the others to be ready to.")
      .def("subgroup", &subgroup, py::arg("ranks"), py::arg("id"), py::arg("timeout"), Release());
}

std::vector<py::bytes> bytes_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

void define_training(py::module_& module) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<Compressor>(module, "Compressor")
      .def(py::init<Handle, const std::string&, std::uint64_t>(), py::arg("group"),
           py::arg("codec"), py::arg("seed"))
      .def("average", &Compressor::average, py::arg("bucket"), py::arg("tensor"),
           py::arg("priority"), py::arg("exact") = Compressor::Places{},
           py::arg("matrices") = Compressor::Matrices{}, Release())
      .def_property_readonly("shaped", &Compressor::shaped)
      .def_property_readonly("coarse", &Compressor::coarse)
      .def_property_readonly("codec", &Compressor::codec)
      .def_property_readonly("movable", &Compressor::movable)
      .def("take_residual", &Compressor::take_residual, py::arg("bucket"))
      .def("save", [](const Compressor& self) { return py::bytes(self.save()); })
      .def("restore", &Compressor::restore, py::arg("saved"), Release())
      .def("regroup", &Compressor::regroup, Release())
      .def("mark", &Compressor::mark, Release())
      .def("go_back", &Compressor::go_back, Release());
  py::class_<TrainingSync>(module, "TrainingSync")
      .def(py::init<Handle, const std::string&, const std::string&, const at::Tensor&,
                    std::uint64_t, double, std::uint32_t, bool>(),
           py::arg("group"), py::arg("codec"), py::arg("mode"), py::arg("parameters"),
           py::arg("seed"), py::arg("weight"), py::arg("steps"), py::arg("agreed") = false,
           Release())
      .def("needs_gradient", &TrainingSync::needs_gradient)
      .def("before_step", &TrainingSync::before_step, py::arg("gradient"), py::arg("loss"),
           py::arg("lr"), Release())
      .def("after_step", &TrainingSync::after_step, py::arg("loss"), py::arg("lr"), Release())
      .def("will_meet", &TrainingSync::will_meet, Release())
      .def("leave", &TrainingSync::leave, Release())
      .def("finish", &TrainingSync::finish, Release())
      .def("save", [](TrainingSync& self) { return py::bytes(self.save()); })
      .def("restore", &TrainingSync::restore, py::arg("saved"), Release())
      .def_property_readonly("step", &TrainingSync::step)
      .def_property_readonly("round", &TrainingSync::round)
      .def_property_readonly("widest", &TrainingSync::widest);
  module.def("codec_text", &codec_text, py::arg("codec"));
  module.def("split_data", &split_data, py::arg("split"), py::arg("labels"), py::arg("ranks"),
             py::arg("seed"));
  module.def("mode_facts", [](const std::string& mode) {
    const ModeFacts facts = mode_facts(mode);
    return py::make_tuple(facts.text, facts.codec, facts.gradients, facts.needs_loss,
                          facts.needs_gradient);
  });
  module.def("check_together", &check_together, py::arg("codec"), py::arg("mode"));
  module.def("balance_batch", &balance_batch, py::arg("speeds"), py::arg("batch"));
  module.def("gather", [](TorchBackend& group, const std::string& own) {
    std::vector<std::string> all;
    {
      const py::gil_scoped_release release;
      all = gather_texts(group, own);
    }
    return bytes_of(all);
  });
}

void define_choice(py::module_& module) {
  module.attr("AUTOMATIC_CODECS") = py::cast(runtime::automatic_codecs());
  module.attr("AUTOMATIC_MODES") = py::cast(runtime::automatic_modes());
  module.def("coding_speeds", &coding_speeds, py::arg("codecs"), py::arg("values"),
             py::arg("ranks"), py::call_guard<py::gil_scoped_release>());
  module.def(
      "choose",
      [](TorchBackend& group,
         const std::vector<std::tuple<double, double, Compressor::Matrices>>& buckets,
         double compute_s,
         const std::vector<std::tuple<std::string, CodingSeconds, double>>& codecs,
         const std::vector<std::string>& modes, std::optional<bool> adaptive) {
        runtime::AutomaticQuestion question;
        question.step.compute_s = compute_s;
        for (const auto& [bytes, ready_s, matrices] : buckets) {
          question.step.buckets.push_back({bytes, ready_s});
          auto& held = question.matrices.emplace_back();
          for (const auto& [from, rows, cols] : matrices) held.push_back({from, rows, cols});
        }
        for (const auto& [codec, value, slower] : codecs) {
          question.codecs.push_back({codec, {value[0], value[1], value[2]}, slower});
        }
        question.modes = modes;
        question.adaptive = adaptive;
        return choose(group, std::move(question));
      },
      py::arg("group"), py::arg("buckets"), py::arg("compute_s"), py::arg("codecs"),
      py::arg("modes"), py::arg("adaptive"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace
}  // namespace weft::bindings

PYBIND11_MODULE(_torch, module) {
  using namespace weft::bindings;
  py::module_::import("torch.distributed");  // the base classes
  define_group(module);
  py::class_<WeftWork, c10::intrusive_ptr<WeftWork>, TorchWork>(module, "Work")
      .def("get_future", &future_of);
  py::class_<OrderedFuture, std::shared_ptr<OrderedFuture>, PythonFutureWrapper>(module, "Future")
      .def("then", &OrderedFuture::then)
      .def("wait", &OrderedFuture::wait, py::call_guard<py::gil_scoped_release>())
      .def("add_done_callback", &OrderedFuture::add_done_callback);
  define_training(module);
  define_choice(module);
  py::class_<StreamScope>(module, "StreamScope")
      .def(py::init<std::uint32_t, double>(), py::arg("stream"), py::arg("priority") = 0.0)
      .def("__enter__", &StreamScope::enter)
      .def("__exit__", &StreamScope::leave);
  py::class_<Store>(module, "Store")
      .def(py::init<const std::string&>(), py::arg("address"))
      .def_property_readonly("port", [](const Store& self) { return self.server->port(); })
      .def_property_readonly("secret", [](const Store& self) { return self.secret.hex(); });
  module.def("start", &start, py::arg("store"), py::arg("secret"), py::arg("rank"), py::arg("size"),
             py::arg("id"), py::arg("timeout"), py::call_guard<py::gil_scoped_release>());
}
