/** Rolls a command back and refuses it. */
export class Refused extends Error {}
