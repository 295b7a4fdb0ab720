/* The built-in solvers, in the order in which they are listed: a new one is one line here. */
SOLVER(s_tfbo)
SOLVER(d_tfbo)
SOLVER(aid_cg)
SOLVER(soba)
SOLVER(mgbio)
SOLVER(msgbio)
SOLVER(vr_msgbio)
SOLVER(exact)
