/** What a notice may name. `who` is the name or the address of a person, or empty when nobody knows it any more. */
export interface About {
  readonly shop: string
  readonly role: string
  readonly who: string
  /** The name of an API key. */
  readonly key: string
}

/** What a notice says. */
export type NoticeText = string | ((about: About) => string)
