#include "cli/problem_choice.h"
