/* A program of somebody who has installed the library. */
#include <bilevel/bilevel.h>

#include <stdio.h>

int main(void) {
    blv_space *space = NULL;
    if (blv_space_create_host(&space, 3, BLV_F64, 1) != BLV_OK)
        return 1;
    printf("%s %zu\n", blv_version(), blv_space_dim(space));
    blv_space_destroy(space);
    return 0;
}
