/**
 * Returns what `work` returns, all of it within one window of a limit, which begins at a multiple of its length. Runs `work` again
 * when the next window began during it, so `work` makes a tenant of its own.
 */
export async function inOneWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const window = () => Math.floor(Date.now() / (seconds * 1000))
  for (;;) {
    const begun = window()
    const result = await work()
    if (window() === begun) return result
  }
}
