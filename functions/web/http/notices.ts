import * as v from 'valibot'
import { deleteCookie, setCookie } from '#web/http/cookies.ts'
import { given, type WebState } from '#web/http/request.ts'
import { seal, unseal } from '#web/http/sealed.ts'
import { type GivenNotice, type Notice, TEXTS } from '#web/texts/texts.ts'

/** Whether an address may show this notice. It has the code of the notice, never a text. */
export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(TEXTS.en.notices, text)

const Kept = v.object({ code: v.string(), about: v.record(v.string(), v.string()) })
const PURPOSE = 'notice'

function keptNotice({ cookies, runtime }: WebState): v.InferOutput<typeof Kept> | null {
  const sealed = cookies.get('notice')
  if (sealed === undefined) return null
  const kept = v.safeParse(Kept, unseal(given(runtime).webKey, PURPOSE, sealed))
  return kept.success ? kept.output : null
}

/**
 * Keeps a notice for the page that a redirect leads to. A redirect that passes a notice on keeps what it names.
 */
export function keepNotice(state: WebState, notice: GivenNotice): void {
  if (state.runtime === null) return
  if (Object.keys(notice.about).length === 0 && keptNotice(state)?.code === notice.code) return
  state.setCookies.push(setCookie('notice', seal(state.runtime.webKey, PURPOSE, notice)))
}

/**
 * Returns the notice of the address, if a redirect has just led to it. It is returned once: a reload or a bookmark shows no notice.
 */
export function takeNotice(state: WebState): GivenNotice | null {
  const { cookies, query, matched, runtime, setCookies } = state
  if (!cookies.has('notice') || runtime === null || matched?.page.method !== 'GET') return null
  setCookies.push(deleteCookie('notice'))
  const kept = keptNotice(state)
  const code = query.get('notice')
  return isNotice(code) && kept?.code === code ? { code, about: kept.about } : null
}
