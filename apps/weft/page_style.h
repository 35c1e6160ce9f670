// How the pages look that are made without scripts.
#pragma once

namespace weft {

inline constexpr const char* kPageStyle = R"(
body { margin: 0; background: #f5f6f8; color: #1c2128;
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
main { max-width: 1600px; margin: 0 auto; padding: 20px 24px 32px; }
h1 { font-size: 23px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 0 0 8px; }
p { margin: 0 0 10px; color: #5a6472; }
section { background: #fff; border: 1px solid #d5dae1; border-radius: 8px; padding: 14px 16px;
  margin-top: 16px; overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 6px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #e8ebef; }
th { font-size: 12px; color: #5a6472; } .left { text-align: left; }
pre { white-space: pre-wrap; font-size: 13px; }
.charts { display: flex; flex-wrap: wrap; gap: 16px; }
)";

}  // namespace weft
