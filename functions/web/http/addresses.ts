/** Returns what matches the addresses of a page: its path with any text in the place of each parameter, as a group of its name. */
export const addressPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

/** Returns the address of a shop's page: `shopPath('acme', '/members')`. */
export const shopPath = (slug: string, page = ''): string => `/s/${encodeURIComponent(slug)}${page}`
