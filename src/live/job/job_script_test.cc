#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "live/job/job_file.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  Result<JobSpec> job;
  std::vector<std::string> warnings;
};

Read read(const std::string& headers) {
  std::vector<std::string> warnings;
  Result<JobSpec> job =
      read_job_file("#!/bin/bash\n" + headers + "\necho hello\n", "train.sh", &warnings);
  return {std::move(job), std::move(warnings)};
}

JobSpec read_good_script(const std::string& headers) {
  const Read result = read(headers);
  EXPECT_TRUE(result.job.ok()) << result.job.error().text();
  EXPECT_THAT(result.warnings, IsEmpty());
  return result.job.ok() ? *result.job : JobSpec{};
}

TEST(JobScript, ReadsHeaders) {
  const JobSpec job = read_good_script(
      "#SBATCH --job-name=digits --nodes=2\n"
      "#SBATCH --ntasks-per-node 4   # a comment\n"
      "#SBATCH --gres=gpu:a100:4\n"
      "#SBATCH -c 8 -p research\n"
      "#SBATCH --mem=32G\n"
      "#SBATCH -t 1-12:30:00\n"
      "#SBATCH --array=0-9%2\n"
      "#SBATCH --dependency=afterok:prepare:fetch,afternotok:other\n"
      "#SBATCH --no-requeue --signal=B:USR1@90\n"
      "#SBATCH --export=NONE,A=1,B=\"two words\"\n"
      "#SBATCH -D /home/me --nice=100");
  EXPECT_EQ(job.name, "digits");
  EXPECT_EQ(job.num_nodes, 2u);
  EXPECT_EQ(job.workers(), 8u);
  EXPECT_THAT(job.resources.accelerators, ElementsAre(AcceleratorChoice{"a100", 4}));
  EXPECT_EQ(job.resources.cpus, 32);
  EXPECT_EQ(job.resources.memory, 32 * kGiB);
  EXPECT_EQ(job.queue, "research");
  EXPECT_EQ(job.time, 36.5 * 3600);
  EXPECT_EQ(job.array, (JobArray{{{0, 9, 1}}, 2}));
  EXPECT_THAT(job.depends_on, ElementsAre(JobDependency{"prepare", DependencyCondition::kOk},
                                          JobDependency{"fetch", DependencyCondition::kOk},
                                          JobDependency{"other", DependencyCondition::kFailed}));
  EXPECT_EQ(job.retries.max, 0u);
  EXPECT_EQ(job.checkpoint.signal, "SIGUSR1");
  EXPECT_EQ(job.checkpoint.grace, 90);
  EXPECT_EQ(job.envs.at("B"), "two words");
  EXPECT_EQ(job.workdir, "/home/me");
  EXPECT_EQ(job.priority, -100);
}

TEST(JobScript, DevicesHaveManyForms) {
  const std::vector<std::pair<const char*, AcceleratorChoice>> cases = {
      {"--gres=gpu", {"", 1}},
      {"--gres=gpu:4", {"", 4}},
      {"--gres=gpu:a100:4", {"a100", 4}},
      {"--gpus-per-node=h100:8", {"h100", 8}},
      {"--gpus-per-node=8", {"", 8}},
      {"-N2 -G 8", {"", 4}},
      {"-N2 --gpus=h100:8", {"h100", 4}},
      {"--ntasks-per-node=2 --gpus-per-task=2", {"", 4}},
      {"--gres=gpu:4 --gpus-per-node=4", {"", 4}},
  };
  for (const auto& [headers, want] : cases) {
    EXPECT_THAT(read_good_script(std::string("#SBATCH ") + headers).resources.accelerators,
                ElementsAre(want))
        << headers;
  }
}

TEST(JobScript, TimesAndMemoryAsInSlurm) {
  const std::vector<std::pair<const char*, double>> times = {
      {"90", 5400}, {"1:30", 90}, {"2:00:00", 7200}, {"1-12", 129600}, {"1-12:30", 131400}};
  for (const auto& [text, want] : times) {
    EXPECT_EQ(read_good_script(std::string("#SBATCH --time=") + text).time, want) << text;
  }
  const std::vector<std::pair<const char*, Bytes>> sizes = {
      {"--mem=4000", 4000 * (kGiB >> 10)},
      {"--mem=2T", 2048 * kGiB},
      {"--mem-per-gpu=1G --gres=gpu:4", 4 * kGiB},
      {"--mem-per-cpu=1G -c 4", 4 * kGiB}};
  for (const auto& [text, want] : sizes) {
    EXPECT_EQ(read_good_script(std::string("#SBATCH ") + text).resources.memory, want) << text;
  }
}

TEST(JobScript, WarnsOfWhatHasNoEffect) {
  Read result = read("#SBATCH --output=a.log\n#SBATCH --qos=high --export=ALL\necho\n#SBATCH -N 4");
  ASSERT_TRUE(result.job.ok()) << result.job.error().text();
  EXPECT_EQ(result.job->num_nodes, 1u);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("train.sh:5: #SBATCH below the first command"),
                                           HasSubstr("train.sh:2: --output is ignored"),
                                           HasSubstr("train.sh:3: --qos is ignored"),
                                           HasSubstr("train.sh:3: --export=ALL")));
}

TEST(JobScript, RefusesWithLineAndHint) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"#\n#SBATCH --node=2", "train.sh:3: --'node' is not read; did you mean 'nodes'?"},
      {"#SBATCH --begin=now", "--begin is not supported"},
      {"#SBATCH -C fast", "--constraint is not supported"},
      {"#SBATCH --nodes=0", "--nodes is '0'; it must be a whole number from 1"},
      {"#SBATCH --nodes=2-4", "--nodes is '2-4'"},
      {"#SBATCH --nodes", "--nodes needs a value"},
      {"#SBATCH nodes=2", "'nodes=2' where an option should be"},
      {"#SBATCH -N 2 --ntasks=3", "the same number on each node"},
      {"#SBATCH -N 2 -G 3", "the same from 1 to 64 on each node"},
      {"#SBATCH --gres=mps:10", "--gres is 'mps:10'"},
      {"#SBATCH --gres=gpu:2 --gpus-per-node=4", "another header"},
      {"#SBATCH --mem=lots", "--mem is 'lots'"},
      {"#SBATCH --time=UNLIMITED", "--time is 'UNLIMITED'"},
      {"#SBATCH --dependency=singleton", "--dependency is 'singleton'"},
      {"#SBATCH --dependency=afterok:a/b", "train.sh:2: depends_on.0 is 'a/b'"},
      {"#SBATCH --array=5-1", "--array is '5-1'"},
      {"#SBATCH --signal=KILL@10", "--signal is 'KILL@10'"},
      {"#SBATCH --export=HOME", "values are not taken from your shell"},
      {"#SBATCH --job-name='a b'", "train.sh:2: name is 'a b'"},
  };
  for (const auto& [headers, want] : cases) {
    const Read result = read(headers);
    ASSERT_FALSE(result.job.ok()) << headers;
    EXPECT_THAT(result.job.error().text(), HasSubstr(want)) << headers;
  }
  EXPECT_THAT(read_job_file("#!/usr/bin/env python3\nprint()\n", "a.py").error().text(),
              HasSubstr("only sh and bash"));
  EXPECT_THAT(read_job_file("#!/bin/sh\n#SBATCH -N 1\n", "a.sh").error().text(),
              HasSubstr("holds no command"));
}

TEST(JobScript, EveryTaskRunsTheScriptAndSrunIsTheCommandItself) {
  Result<JobSpec> job = read_job_file(
      "#!/bin/sh\n#SBATCH -N 2\n"
      "test -z \"$BASH_VERSION\" || test \"$LINENO\" = 3 || exit 3\n"
      "test \"$SLURM_PROCID\" = 5 || exit 4\n"
      "test \"$(srun -n 4 -l -c2 --gres=gpu:1 --ntasks 2 --label echo a -b)\" = 'a -b' || exit 5\n"
      "srun -n || exit 0\nexit 6\n",
      "a.sh");
  ASSERT_TRUE(job.ok()) << job.error().text();
  setenv("RANK", "5", 1);
  setenv("SCRIPT_UNDER_TEST", job->run.c_str(), 1);
  EXPECT_EQ(std::system("bash -c \"$SCRIPT_UNDER_TEST\""), 0);
  EXPECT_EQ(std::system("sh -c \"$SCRIPT_UNDER_TEST\""), 0);
}

}  // namespace
}  // namespace weft::live
