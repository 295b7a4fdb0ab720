/* Makes bytes in a separate thread. A ring of pieces: the thread fills them in order, the taker
 * empties them in order, so what is taken does not depend on who is faster. */
#include "io/read_ahead.h"

#include <pthread.h>
#include <signal.h>
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
    pthread_mutex_t lock; /* for the next four */
    pthread_cond_t changed;
    size_t made, taken; /* pieces, since the start */
    bool stop;
    size_t at; /* bytes taken of the piece that is being emptied */
    blv_message why;
    piece pieces[PIECES];
};

/* Waits for a piece to fill; NULL when nobody wants more. */
static piece *wait_for_room(blv_ahead *a) {
    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->made - a->taken == PIECES)
        pthread_cond_wait(&a->changed, &a->lock);
    piece *room = a->stop ? NULL : &a->pieces[a->made % PIECES];
    pthread_mutex_unlock(&a->lock);
    return room;
}

static void *run(void *ahead) {
    blv_ahead *a = ahead;
    bool more = true;
    while (more) {
        piece *p = wait_for_room(a);
        if (!p)
            break;
        p->error = a->make(a->context, p->bytes, PIECE_SIZE, &p->size, &a->why);
        more = !p->error && p->size == PIECE_SIZE;
        pthread_mutex_lock(&a->lock);
        a->made++;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
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

blv_ahead *blv_ahead_start(blv_make_fn *make, void *context) {
    blv_ahead *a = malloc(sizeof *a);
    if (!a)
        return NULL;
    a->make = make;
    a->context = context;
    a->made = a->taken = a->at = 0;
    a->stop = false;
    if (pthread_mutex_init(&a->lock, NULL) != 0) {
        free(a);
        return NULL;
    }
    if (pthread_cond_init(&a->changed, NULL) != 0) {
        pthread_mutex_destroy(&a->lock);
        free(a);
        return NULL;
    }
    if (start_thread(a) != 0) {
        pthread_cond_destroy(&a->changed);
        pthread_mutex_destroy(&a->lock);
        free(a);
        return NULL;
    }
    return a;
}

void blv_ahead_stop(blv_ahead *ahead) {
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

static piece *wait_for_piece(blv_ahead *a) {
    pthread_mutex_lock(&a->lock);
    while (a->made == a->taken)
        pthread_cond_wait(&a->changed, &a->lock);
    piece *p = &a->pieces[a->taken % PIECES];
    pthread_mutex_unlock(&a->lock);
    return p;
}

static void release_piece(blv_ahead *a) {
    a->at = 0;
    pthread_mutex_lock(&a->lock);
    a->taken++;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

blv_error blv_ahead_take(blv_ahead *ahead, void *out, size_t n, size_t *got, blv_message *why) {
    *got = 0;
    while (*got < n) {
        piece *p = wait_for_piece(ahead); /* the last one is never released, so it is found again */
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
            break;
        release_piece(ahead);
    }
    return BLV_OK;
}
