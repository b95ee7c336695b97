/** Returns whether a session signed in or stepped up in the last `seconds`, by the clock of this machine. */
export const hasSteppedUp = (
  { stepped_up_at: at }: { readonly stepped_up_at: string | null },
  seconds: number,
): boolean => at !== null && Date.parse(at) > Date.now() - seconds * 1000
