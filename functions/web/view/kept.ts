const MOST = 100

/**
 * Returns `make`, of which each result is kept for its texts, such as a language and a time zone. It is for what takes long to make:
 * one format of Intl takes longer than the rest of a page.
 */
export function kept<Keys extends readonly string[], Made>(make: (...keys: Keys) => Made): (...keys: Keys) => Made {
  const results = new Map<string, Made>()
  return (...keys) => {
    const key = keys.join(' ')
    const known = results.get(key)
    if (known !== undefined) return known
    if (results.size >= MOST) results.clear()
    const made = make(...keys)
    results.set(key, made)
    return made
  }
}
