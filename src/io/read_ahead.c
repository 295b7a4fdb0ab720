/* Makes bytes in a separate thread. A ring of pieces: the thread fills them in order, the taker
 * empties them in order, so what is taken does not depend on who is faster. */
#include "io/read_ahead.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 4, PIECE_SIZE = 1 << 18 };

typedef struct piece {
    size_t size; /* less than PIECE_SIZE: the last one */
    blv_error error;
    unsigned char bytes[PIECE_SIZE];
} piece;

struct blv_ahead {
    blv_make_fn *make;
    void *context;
    pthread_t thread;
    sem_t empty, full; /* pieces */
    atomic_bool stop;
    size_t taken; /* pieces, since the start */
    size_t at;    /* bytes taken of the piece that is being emptied */
    bool waited;  /* that piece is known to be full */
    blv_message why;
    piece pieces[PIECES];
};

static void wait_for(sem_t *count) {
    while (sem_wait(count) != 0)
        ; /* interrupted by a signal */
}

static void *run(void *ahead) {
    blv_ahead *a = ahead;
    bool more = true;
    for (size_t made = 0; more; made++) {
        wait_for(&a->empty);
        if (atomic_load(&a->stop))
            break;
        piece *p = &a->pieces[made % PIECES];
        p->error = a->make(a->context, p->bytes, PIECE_SIZE, &p->size, &a->why);
        more = !p->error && p->size == PIECE_SIZE;
        sem_post(&a->full);
    }
    return NULL;
}

/* The thread leaves all signals to the others. */
static int start_thread(blv_ahead *a) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    int error = pthread_create(&a->thread, NULL, run, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_ahead(blv_ahead *a) {
    sem_destroy(&a->empty);
    sem_destroy(&a->full);
    free(a);
}

blv_ahead *blv_ahead_start(blv_make_fn *make, void *context) {
    blv_ahead *a = malloc(sizeof *a);
    if (!a)
        return NULL;
    a->make = make;
    a->context = context;
    a->taken = a->at = 0;
    a->waited = false;
    atomic_init(&a->stop, false);
    sem_init(&a->empty, 0, PIECES); /* cannot fail for these numbers */
    sem_init(&a->full, 0, 0);
    if (start_thread(a) == 0)
        return a;
    free_ahead(a);
    return NULL;
}

void blv_ahead_stop(blv_ahead *ahead) {
    if (!ahead)
        return;
    atomic_store(&ahead->stop, true);
    sem_post(&ahead->empty);
    pthread_join(ahead->thread, NULL);
    free_ahead(ahead);
}

blv_error blv_ahead_take(blv_ahead *ahead, void *out, size_t n, size_t *got, blv_message *why) {
    *got = 0;
    while (*got < n) {
        piece *p = &ahead->pieces[ahead->taken % PIECES];
        if (!ahead->waited)
            wait_for(&ahead->full);
        ahead->waited = true;
        size_t left = p->size - ahead->at, part = n - *got < left ? n - *got : left;
        memcpy((unsigned char *)out + *got, p->bytes + ahead->at, part);
        *got += part;
        ahead->at += part;
        if (ahead->at < p->size)
            break; /* out is full */
        if (p->error && why)
            *why = ahead->why;
        if (p->error)
            return p->error;
        if (p->size < PIECE_SIZE)
            break; /* the last one is never given back, so it is found again */
        ahead->at = 0;
        ahead->waited = false;
        ahead->taken++;
        sem_post(&ahead->empty);
    }
    return BLV_OK;
}
