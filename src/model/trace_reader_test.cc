#include "model/readers/reader_testing.h"
#include "model/readers/trace_text.h"

namespace weft {
namespace {

struct Detection {
  const char* path;
  std::string text;
  std::string want;
};

TEST(TraceFormat, IsDetected) {
  const Detection cases[] = {
      {"a.csv", "job_id,submit_s,num_gpus,duration_s,vc\n", "philly"},
      {"a.csv", "timestamp,duration,num_gpus,gpu_time,cluster\n", "philly"},
      {"a.trace", "a\tb\tc\td\te\tf\tg\th\ti\tj\n", "gavel"},
      {"a.trace", "a\tb\tc\td\te\tf\tg\th\ti\n", "gavel"},
      {"a.trace", "a\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\n", "shockwave"},
      {"a.csv",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time\n",
       "alibaba"},
      {"a.csv", "name,time,application,num_replicas,batch_size\n", "sia"},
      {"a.csv", "# a comment\n\nname,devices,submit_s,duration_s\n", "weft-csv"},
      {"a.csv", "\xEF\xBB\xBFsubmit_s,duration_s,devices\r\n", "weft-csv"},
      {"a.txt", "# a comment\njobs:\n", "weft-yaml"},
      {"a.yml", "anything: 3\n", "weft-yaml"},
      {"a.csv", "x,y,z\n", ""},
      {"a.csv", "", ""},
  };
  for (const Detection& c : cases) {
    EXPECT_EQ(detect_trace_format({c.path, c.text}), c.want) << c.text;
  }
}

TEST(ReadTrace, AFormatGivenOverrulesTheDetection) {
  TraceOptions options;
  options.format = "weft-csv";
  const Cluster cluster = cluster_of("2x8");
  expect_complaint({"Philly read as Weft", "", "column 'job_id' is not known"},
                   read_trace(fixture("traces/philly_numbered.csv"), cluster, options));
  options.format = "philly";
  EXPECT_TRUE(read_trace(fixture("traces/philly_numbered.csv"), cluster, options).ok());
  options.format = "phily";
  const Result<Trace> unknown = read_trace(fixture("traces/philly_numbered.csv"), cluster, options);
  expect_complaint({"unknown format", "", "format 'phily' is not known"}, unknown);
  for (const std::string& name : trace_formats()) {
    EXPECT_NE(unknown.error().hint.find(name), std::string::npos) << name;
  }
}

TEST(ReadTrace, ProfilesThatAreNoPairTableAreRefused) {
  TraceOptions options;
  options.profiles = fixture("traces");
  expect_complaint({"no pair table", "", "single_data.csv: cannot open"},
                   read_trace(fixture("traces/weft.csv"), cluster_of("fast:2x8"), options));
}

TEST(ReadTrace, RefusesFilesItCannotRead) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("weft-trace-" + std::to_string(::getpid())))
          .string();
  const Cluster cluster = cluster_of("1x1");
  expect_complaint({"missing", "", "cannot open: No such file"}, read_trace(path, cluster, {}));
  expect_complaint({"folder", "", "is a folder"}, read_trace(fixture("traces"), cluster, {}));
  ASSERT_TRUE(write_file_atomically(path, "").ok());
  expect_complaint({"empty", "", "is empty"}, read_trace(path, cluster, {}));
  ASSERT_TRUE(write_file_atomically(path, "submit_s,duration_s,devices\n0,1,\xFE\n").ok());
  expect_complaint({"not UTF-8", "", ":2: byte 0xfe is not UTF-8"}, read_trace(path, cluster, {}));
  std::filesystem::resize_file(path, std::uintmax_t{10} << 30);
  expect_complaint({"10 GB", "", "is 10737418240 bytes or more; the limit is 4294967296 bytes"},
                   read_trace(path, cluster, {}));
  std::filesystem::remove(path);
  expect_complaint({"unknown", "", "the format is not recognised; it begins 'x,y'"},
                   parse_trace_text({"f", "x,y\n1,2\n"}, cluster, {}));
}

TEST(ReadTrace, AJobLargerThanTheClusterIsNotAReadersBusiness) {
  EXPECT_TRUE(
      parse_trace_text({"f", "submit_s,duration_s,devices\n0,1,1000\n"}, cluster_of("1x1"), {})
          .ok());
}

}  // namespace
}  // namespace weft
