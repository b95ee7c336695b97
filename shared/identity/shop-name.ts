import * as v from 'valibot'
import { PersonName } from '#shared/schema/name.ts'

/**
 * Returns how a mail, or a page for people who do not work in the tenant, names it: by its legal name with the slug beside it, or by the
 * slug alone when the legal name could carry a link or a telephone number. A slug is unique, so no tenant can pass for another.
 */
export const shopName = ({ slug, legal_name: name }: { readonly slug: string; readonly legal_name: string }): string =>
  name !== slug && v.is(PersonName, name) ? `${name} (${slug})` : slug
