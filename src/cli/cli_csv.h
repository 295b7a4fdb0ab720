#include "cli/outputs.h"
#include "report/table.h"
#define cli_csv_text report_csv_text
#define cli_csv_number report_csv_number
