import type { Config } from '#shared/base/config.ts'
import { relyingParty } from '#shared/base/relying-party.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { setCookie } from '#web/http/cookies.ts'
import { boundFields, formPages } from '#web/http/bound-fields.ts'
import { returnAddress } from '#web/http/form-address.ts'
import { proofOf } from '#web/http/me.ts'
import { ownAddress } from '#web/http/next.ts'
import { PASSKEY_HEADERS, SCRIPT_POLICY } from '#web/http/headers.ts'
import { destinationsOf } from '#web/http/navigation.ts'
import { keepNotice, takeNotice } from '#web/http/notices.ts'
import type { Page } from '#web/http/page.ts'
import type { PageReply } from '#web/http/reply.ts'
import type { WebState } from '#web/http/request.ts'
import { owedProof } from '#web/http/step-up.ts'
import { TEXTS } from '#web/texts/texts.ts'
import { layout } from '#web/view/layout.ts'
import { withQuery } from '#web/view/parts.ts'
import type { Refusal, Ui } from '#web/view/ui.ts'

/** Returns what the parts of a view need to know of the request. */
export type MakeUi = (state: WebState, refusal?: Refusal | null) => Ui

const WITH_SCRIPT = { 'content-security-policy': SCRIPT_POLICY }

const policyOf = ({ needs }: Ui): Readonly<Record<string, string>> =>
  needs.passkey !== null ? PASSKEY_HEADERS : needs.script ? WITH_SCRIPT : {}

/** Returns the response that a reply becomes. */
export type Render = (state: WebState, reply: PageReply | ((ui: Ui) => PageReply), ui?: Ui) => ProxyResult

/** The address of this page, to come back to. A link's token stays in no page, and the address of a form cannot be opened. */
function here(state: WebState): string {
  const { matched, query, path } = state
  if (matched === null || matched.page.access === 'link') return path
  const fields = Object.fromEntries(query)
  delete fields['notice']
  return matched.page.method === 'GET' ? withQuery(path, fields) : (returnAddress(state) ?? path)
}

/** Returns the two functions for these pages. */
export function renderer(pages: readonly Page[], config: Config): { makeUi: MakeUi; render: Render } {
  const pageOf = formPages(pages)
  const own = ownAddress(pages)
  const destinations = destinationsOf(pages)
  const hasPasskeys = relyingParty(config) !== null
  const makeUi: MakeUi = (state, refusal) => ({
    language: state.language,
    t: TEXTS[state.language],
    path: state.path,
    session: state.session,
    platform: config.platform,
    hasPasskeys,
    destinations,
    bound: (to) => boundFields(state, pageOf(to)),
    proofFor: (to) => {
      const page = pageOf(to)
      if (refusal?.kind !== 'step-up-required') return owedProof(page, state.session, config)
      // A page asks once. Of its forms, the one that was sent asks.
      return page === state.matched?.page && state.session !== null ? proofOf(state.session) : null
    },
    ownPasskey: state.ownPasskey,
    ownAddress: own,
    wanted: own(state.query.get('next') ?? state.form?.get('next') ?? refusal?.values['next'] ?? ''),
    needs: { script: false, proof: false, passkey: null },
    refusal: refusal ?? null,
  })
  const render: Render = (state, given, ui = makeUi(state)) => {
    const reply = typeof given === 'function' ? given(ui) : given
    const { headers = {} } = reply
    state.setCookies.push(...(reply.cookies ?? []))
    switch (reply.kind) {
      case 'redirect':
        if (reply.notice !== null) keepNotice(state, reply.notice)
        return { statusCode: 303, headers: { ...headers, 'content-type': null, location: reply.to }, body: '' }
      case 'text':
        return { statusCode: 200, headers: { 'content-type': reply.contentType, ...headers }, body: reply.text }
      case 'view':
        state.setCookies.push(setCookie('form', state.formSecret))
        return {
          statusCode: reply.status,
          headers: { 'content-type': 'text/html; charset=utf-8', ...policyOf(ui), ...headers },
          body: layout(ui, reply, { notice: takeNotice(state), here: here(state) }),
        }
    }
  }
  return { makeUi, render }
}
