import type { Language } from '#shared/schema/language.ts'
import * as enAuth from '#web/texts/en/auth.ts'
import * as enCommon from '#web/texts/en/common.ts'
import * as enMembers from '#web/texts/en/members.ts'
import * as enProblems from '#web/texts/en/problems.ts'
import * as enShop from '#web/texts/en/shop.ts'
import * as enShops from '#web/texts/en/shops.ts'
import * as esAuth from '#web/texts/es/auth.ts'
import * as esCommon from '#web/texts/es/common.ts'
import * as esMembers from '#web/texts/es/members.ts'
import * as esProblems from '#web/texts/es/problems.ts'
import * as esShop from '#web/texts/es/shop.ts'
import * as esShops from '#web/texts/es/shops.ts'

const en = { ...enCommon, ...enAuth, ...enShops, ...enMembers, ...enProblems, ...enShop }

/** Every text of the pages. A language with a missing text does not compile. */
export type Texts = typeof en

const es: Texts = { ...esCommon, ...esAuth, ...esShops, ...esMembers, ...esProblems, ...esShop }

export const TEXTS: Readonly<Record<Language, Texts>> = { en, es }
