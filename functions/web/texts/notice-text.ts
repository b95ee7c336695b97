/** A shop, and the role of the person in it. */
export interface Place {
  readonly shop: string
  readonly role: string
}

/** What a notice says. It may name the shop. */
export type NoticeText = string | ((place: Place) => string)
