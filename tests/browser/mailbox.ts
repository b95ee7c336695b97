import type { StackInfo } from '#infra/local/stack.ts'

interface Mail {
  readonly subject: string
  readonly text: string
}

/** Returns the newest mail to an address, once there are `count` of them. */
export async function mailTo({ mailbox_url }: StackInfo, address: string, count = 1): Promise<Mail> {
  for (let waited = 0; waited < 300; waited += 1) {
    const response = await fetch(`${mailbox_url}/messages?to=${encodeURIComponent(address)}`)
    const { data } = (await response.json()) as { data: Mail[] }
    const [newest] = data
    if (newest !== undefined && data.length >= count) return newest
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`no mail arrived for ${address}`)
}

/** Returns the link of a mail. */
export const linkIn = ({ text }: Mail): string => /https?:\/\/\S+\?token=[\w-]+/.exec(text)?.[0] ?? ''
