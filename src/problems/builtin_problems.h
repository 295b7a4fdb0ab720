/* The problem families of this folder. */
#pragma once

#include "bilevel/problem.h"

#define FAMILY(name) extern const blv_problem_family blv_problem_##name;
#include "problems/problem_list.h"
#undef FAMILY
