let passwords: Promise<ReadonlySet<string>> | null = null

/** The bundled list of some 49,000 common passwords, in lower case. Loaded at the first use, since most requests need none. */
export function commonPasswords(): Promise<ReadonlySet<string>> {
  passwords ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']))
  return passwords
}
