/** Returns the address of a shop's page: `shopPath('acme', '/members')`. */
export const shopPath = (slug: string, page = ''): string => `/s/${encodeURIComponent(slug)}${page}`
