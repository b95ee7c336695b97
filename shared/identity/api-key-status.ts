/** What an API key may be. A key that was revoked is `revoked`, also after its expiry. */
export const API_KEY_STATUSES = ['live', 'expired', 'revoked'] as const

export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number]
