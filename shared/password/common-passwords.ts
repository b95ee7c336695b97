let passwords: Promise<ReadonlySet<string>> | null = null

/** Returns about 49,000 common passwords, in lower case. Loads them on first use: few requests need them. */
export function commonPasswords(): Promise<ReadonlySet<string>> {
  passwords ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']))
  return passwords
}
