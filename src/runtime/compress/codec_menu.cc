#include "runtime/compress/codec_menu.h"

#include "runtime/compress/automatic.h"
#include "timing/compression/menu.h"

namespace weft::runtime {

Result<Menu> codec_menu(const Configuration& asked, const ModelStep& step,
                        const GroupShape& shape) {
  AutomaticQuestion question;
  question.step = even_step(step.gradient_bytes, step.compute_s);
  question.ranks = shape.ranks;
  question.codecs = usual_coding();
  question.modes = step.modes.empty() ? automatic_modes() : step.modes;
  question.adaptive = step.adaptive;
  const auto answer = choose_automatically(question, clock_of(shape));
  if (!answer.ok()) return answer.error();
  return compression_menu(asked, answer->plain, answer->considered, shape.ranks);
}

}  // namespace weft::runtime
