import { domainToUnicode } from 'node:url'

// The letters of a label that a reader can tell from those of another script: one script, or one of the combinations that languages
// use (https://www.unicode.org/reports/tr39/#Restriction_Level_Detection, "Highly Restrictive", without Latin letters).
const ONE_SCRIPT =
  /^(?:[\p{scx=Latin}\p{N}-]+|[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{N}-]+|[\p{scx=Han}\p{scx=Hangul}\p{N}-]+|[\p{scx=Cyrillic}\p{N}-]+|[\p{scx=Greek}\p{N}-]+|[\p{scx=Arabic}\p{N}-]+|[\p{scx=Hebrew}\p{N}-]+|[\p{scx=Devanagari}\p{N}-]+|[\p{scx=Thai}\p{N}-]+|[\p{scx=Armenian}\p{N}-]+|[\p{scx=Georgian}\p{N}-]+|[\p{scx=Bengali}\p{N}-]+|[\p{scx=Tamil}\p{N}-]+)$/u

// Labels of these letters alone look like Latin ones.
const LIKE_LATIN = /^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡνοαρτυικ0-9-]+$/u

const isReadable = (label: string): boolean =>
  ONE_SCRIPT.test(label) && !(LIKE_LATIN.test(label) && /\P{ASCII}/u.test(label))

/**
 * Returns an address as pages and mails show it: with its domain in its own letters, unless a label mixes scripts or looks like a Latin
 * one. Then the A-labels stay.
 */
export function shownEmail(email: string): string {
  const at = email.lastIndexOf('@') + 1
  const domain = email.slice(at)
  if (!/(?:^|\.)xn--/i.test(domain)) return email
  const shown = domainToUnicode(domain)
  return shown !== '' && shown.split('.').every(isReadable) ? `${email.slice(0, at)}${shown}` : email
}
