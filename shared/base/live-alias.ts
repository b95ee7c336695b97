/** The alias of every function. Callers invoke it, so that a release can move them to its version gradually, and back. */
export const LIVE_ALIAS = 'live'

/** Returns the alias by which a function was invoked: of the ARN in its context. Null for none. */
export const aliasIn = (invokedFunctionArn: string): string | null => invokedFunctionArn.split(':')[7] ?? null
