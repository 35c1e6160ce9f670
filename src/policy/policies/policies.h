// One function per published scheduler, each in a file of its own name.
#pragma once

#include "policy/composition.h"

namespace weft::policies {

Composition fifo();
Composition backfill();
Composition sjf();
Composition srtf();
Composition las();
Composition two_d_las();
Composition priority();
Composition lucid();
Composition fgd();
Composition hived();
Composition spot_mix();
Composition muri();
Composition gandiva();
Composition synergy();
Composition optimus();
Composition afs();
Composition pollux();
Composition sia();
Composition gittins();
Composition drf();
Composition quota();
Composition edf();
Composition elasticflow();
Composition min_energy();
Composition themis();
Composition shockwave();
Composition allox();
Composition max_min();
Composition max_min_agnostic();
Composition max_min_packed();
Composition finish_time_fair();
Composition finish_time_fair_agnostic();
Composition makespan();
Composition makespan_agnostic();
Composition max_throughput();
Composition max_throughput_agnostic();
Composition min_cost();
Composition min_cost_agnostic();
Composition min_cost_deadline();
Composition min_cost_deadline_agnostic();

}  // namespace weft::policies
