/* A program of somebody who has installed the library. */
#include <bilevel/bilevel.h>

#include <stdio.h>

int auroc = 1; /* a name that the library uses inside */

int main(void) {
    const blv_problem_family *family = blv_family_find(NULL, "scalar-penalty", NULL);
    blv_problem *problem = NULL;
    blv_solution *solution = NULL;
    blv_message why = {""};
    if (blv_problem_from_family(family, NULL, NULL, &problem, &why) != BLV_OK ||
        blv_solve(&solution, problem, NULL, &why) != BLV_OK) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    printf("%s %.2f\n", blv_version(), auroc * solution->x[0]);
    blv_solution_destroy(solution);
    blv_problem_destroy(problem);
    return 0;
}
