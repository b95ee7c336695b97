/** The alias of every function. Callers invoke it, so that a release can move them to its version gradually, and back. */
export const LIVE_ALIAS = 'live'
