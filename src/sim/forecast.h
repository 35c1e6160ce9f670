// Forecasts by simulation: the current state is run ahead in virtual time.
#pragma once

#include "control/forecast.h"

namespace weft {

class SimForecaster : public Forecaster {
 public:
  Result<Forecast> forecast(const ForecastTask& task) const override;
};

}  // namespace weft
