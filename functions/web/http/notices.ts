import { type Notice, TEXTS } from '#web/texts/texts.ts'

/** Whether an address may show this notice. It has the code of the notice, never a text. */
export const isNotice = (text: string | null): text is Notice => text !== null && Object.hasOwn(TEXTS.en.notices, text)
