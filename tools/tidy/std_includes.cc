#include "std_includes.h"

#include <cstddef>
#include <functional>
#include <set>
#include <sstream>

#include "scan.h"

namespace tidy {
namespace {

using Lines = std::vector<std::string>;

// Names without a namespace are of std. Any of the headers will do, and the first is proposed. More
// than one stand where the standard says so (std::abs), or where a header cannot do without the
// name (std::string converts to std::string_view).
struct HeaderNames {
  const char* headers;
  const char* names;
};

constexpr HeaderNames kHeaderNames[] = {
    {"algorithm",
     "adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count "
     "count_if equal equal_range fill fill_n find find_end find_first_of find_if find_if_not "
     "for_each for_each_n generate generate_n includes inplace_merge is_partitioned is_permutation "
     "is_sorted is_sorted_until iter_swap lexicographical_compare lower_bound make_heap max "
     "max_element merge min min_element minmax minmax_element mismatch next_permutation none_of "
     "nth_element partial_sort partition partition_point pop_heap prev_permutation push_heap "
     "remove_copy_if remove_if replace replace_if reverse rotate search set_difference "
     "set_intersection set_symmetric_difference set_union shuffle sort sort_heap stable_partition "
     "stable_sort swap_ranges transform unique unique_copy upper_bound"},
    {"array", "array to_array"},
    {"atomic",
     "atomic atomic_bool atomic_flag atomic_ref atomic_signal_fence atomic_thread_fence "
     "memory_order memory_order_acq_rel memory_order_acquire memory_order_relaxed "
     "memory_order_release memory_order_seq_cst"},
    {"barrier", "barrier"},
    {"bit",
     "bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero endian "
     "has_single_bit popcount rotl rotr"},
    {"bitset", "bitset"},
    {"cctype",
     "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper "
     "isxdigit tolower toupper"},
    {"charconv", "chars_format from_chars from_chars_result to_chars to_chars_result"},
    {"chrono", "chrono chrono_literals"},
    {"cmath",
     "acos asin atan atan2 cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
     "fmax fmin fmod fpclassify frexp hypot ilogb isfinite isinf isnan isnormal ldexp lgamma "
     "llround log log10 log1p log2 logb lrint lround modf nan nanf nearbyint nextafter pow "
     "remainder rint round scalbn signbit sin sinh sqrt tan tanh tgamma trunc"},
    {"cmath cstdlib", "abs"},
    {"compare", "partial_ordering strong_ordering weak_ordering"},
    {"complex", "complex"},
    {"concepts", "convertible_to derived_from floating_point integral invocable same_as"},
    {"condition_variable", "condition_variable condition_variable_any cv_status"},
    {"csignal", "raise sig_atomic_t signal"},
    {"cstddef", "byte max_align_t nullptr_t to_integer"},
    {"cstdint",
     "int16_t int32_t int64_t int8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t "
     "uintmax_t uintptr_t"},
    {"cstdio",
     "FILE fclose ferror fflush fgets fopen fprintf fputc fputs fread freopen fseek ftell fwrite "
     "getchar perror printf putchar puts rename rewind snprintf sprintf sscanf tmpfile vsnprintf"},
    {"cstdio algorithm", "remove"},
    {"cstdlib",
     "abort at_quick_exit atexit atof atoi atol atoll calloc div exit free getenv labs llabs "
     "malloc quick_exit realloc strtod strtof strtol strtoll strtoul strtoull system"},
    {"cstring",
     "memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy strerror strlen strncmp "
     "strncpy strpbrk strrchr strspn strstr strtok"},
    {"ctime", "asctime difftime gmtime localtime mktime strftime time tm"},
    {"deque", "deque"},
    {"exception",
     "current_exception exception_ptr make_exception_ptr rethrow_exception set_terminate "
     "terminate uncaught_exceptions"},
    {"exception stdexcept", "exception"},
    {"filesystem", "filesystem"},
    {"fmt/format.h fmt/ranges.h",
     "fmt::format_int fmt::formatter fmt::memory_buffer fmt::runtime fmt::to_string"},
    {"fmt/ranges.h", "fmt::join"},  // with fmt 11; fmt/format.h had it before
    {"fstream", "filebuf fstream ifstream ofstream"},
    {"functional",
     "bind bind_front bit_and bit_or cref equal_to function greater greater_equal invoke less "
     "less_equal logical_not minus mem_fn multiplies negate not_equal_to not_fn plus ref "
     "reference_wrapper"},
    {"future", "async future future_status launch packaged_task promise shared_future"},
    {"iomanip", "put_time quoted setfill setprecision setw"},
    {"iostream", "cerr cin clog cout"},
    {"iostream ostream", "endl flush"},
    {"iterator",
     "advance back_inserter distance front_inserter inserter istream_iterator istreambuf_iterator "
     "make_move_iterator next ostream_iterator prev"},
    {"latch", "latch"},
    {"limits", "numeric_limits"},
    {"list", "list"},
    {"map", "map multimap"},
    {"memory",
     "addressof allocate_shared allocator default_delete enable_shared_from_this make_shared "
     "make_unique make_unique_for_overwrite shared_ptr static_pointer_cast to_address unique_ptr "
     "weak_ptr"},
    {"mutex",
     "adopt_lock call_once defer_lock lock_guard mutex once_flag recursive_mutex scoped_lock "
     "timed_mutex try_to_lock unique_lock"},
    {"new", "align_val_t bad_alloc launder nothrow"},
    {"numbers", "numbers"},
    {"numeric",
     "accumulate adjacent_difference exclusive_scan gcd inclusive_scan inner_product iota lcm "
     "midpoint partial_sum reduce transform_reduce"},
    {"optional", "make_optional nullopt nullopt_t optional"},
    {"queue", "priority_queue queue"},
    {"random",
     "bernoulli_distribution discrete_distribution exponential_distribution mt19937 mt19937_64 "
     "normal_distribution random_device uniform_int_distribution uniform_real_distribution"},
    {"regex", "cmatch regex regex_match regex_replace regex_search smatch"},
    {"semaphore", "binary_semaphore counting_semaphore"},
    {"set", "multiset set"},
    {"shared_mutex", "shared_lock shared_mutex"},
    {"span", "as_bytes as_writable_bytes dynamic_extent span"},
    {"sstream", "istringstream ostringstream stringbuf stringstream"},
    {"stack", "stack"},
    {"stdexcept",
     "domain_error invalid_argument length_error logic_error out_of_range overflow_error "
     "range_error runtime_error underflow_error"},
    {"stop_token", "stop_callback stop_source stop_token"},
    {"string",
     "getline stod stof stoi stol stoll stoul stoull string string_literals to_string wstring"},
    {"string_view string", "string_view string_view_literals"},
    {"system_error",
     "error_category generic_category make_error_code system_category system_error"},
    {"system_error charconv filesystem", "errc error_code"},
    {"thread", "jthread this_thread thread"},
    {"tuple", "apply forward_as_tuple make_tuple tie tuple tuple_cat tuple_element_t tuple_size_v"},
    {"type_traits",
     "add_const_t bool_constant common_type_t conditional_t decay_t enable_if_t false_type "
     "integral_constant invoke_result_t is_arithmetic_v is_base_of_v is_constructible_v "
     "is_convertible_v is_copy_constructible_v is_enum_v is_floating_point_v is_integral_v "
     "is_invocable_v is_pointer_v is_reference_v is_same_v is_signed_v is_trivially_copyable_v "
     "is_unsigned_v is_void_v make_signed_t make_unsigned_t remove_const_t remove_cv_t "
     "remove_cvref_t remove_pointer_t remove_reference_t true_type type_identity_t "
     "underlying_type_t void_t"},
    {"typeindex", "type_index"},
    {"unordered_map", "unordered_map unordered_multimap"},
    {"unordered_set", "unordered_multiset unordered_set"},
    {"utility", "as_const cmp_equal cmp_less exchange in_range index_sequence make_index_sequence"},
    {"variant",
     "bad_variant_access get_if holds_alternative monostate variant variant_alternative_t "
     "variant_size_v visit"},
    {"vector", "vector"},
};

Lines words(const char* text) {
  std::istringstream in(text);
  Lines found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// The headers that declare each name.
std::map<std::string, Lines, std::less<>> headers_by_name() {
  std::map<std::string, Lines, std::less<>> by_name;
  for (const HeaderNames& row : kHeaderNames) {
    for (const std::string& name : words(row.names)) {
      const bool qualified = name.find(':') != std::string::npos;
      by_name[qualified ? name : "std::" + name] = words(row.headers);
    }
  }
  return by_name;
}

// The names of the namespaces std and fmt in a line, as `std::sort`.
Lines library_names(const std::string& line) {
  Lines names;
  for (const char* space : {"std::", "fmt::"}) {
    for (std::size_t at = line.find(space); at != std::string::npos;
         at = line.find(space, at + 1)) {
      if (at > 0 && is_word(line[at - 1])) continue;  // the end of a longer name
      std::size_t end = at + 5;
      while (end < line.size() && is_word(line[end])) ++end;
      names.push_back(line.substr(at, end - at));
    }
  }
  return names;
}

}  // namespace

void StdIncludes::add(const std::string& path, const Lines& lines, const Lines& code) {
  graph_.add(path, lines, code);
  std::vector<Use>& uses = uses_[path];
  std::set<std::string> seen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (code[i].starts_with("#include")) continue;
    for (const std::string& name : library_names(code[i])) {
      if (seen.insert(name).second) uses.push_back({static_cast<int>(i) + 1, name});
    }
  }
}

std::vector<Finding> StdIncludes::findings() const {
  const auto headers = headers_by_name();
  std::vector<Finding> findings;
  for (const auto& [path, uses] : uses_) {
    std::set<std::string> system = graph_.system_headers(path);
    for (const Use& use : uses) {
      const auto known = headers.find(use.name);
      if (known == headers.end()) continue;
      bool present = false;
      for (const std::string& header : known->second) present |= system.contains(header);
      if (present) continue;
      const std::string& header = known->second.front();
      system.insert(header);  // once for each header
      findings.push_back({path, use.line,
                          use.name + " needs <" + header +
                              ">, which neither this file nor a project header that it includes "
                              "names"});
    }
  }
  return findings;
}

}  // namespace tidy
