import { FIXED_HEADERS } from '#shared/http/fixed-headers.ts'

// Chromium writes a line to the console for a feature that it does not know.
const FEATURES = [
  'accelerometer',
  'autoplay',
  'browsing-topics',
  'camera',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

/** The policy of a page that loads our script. */
export const SCRIPT_POLICY = `${POLICY}; script-src 'self'`

/**
 * The headers of every response of the front end, also of API Gateway's own. With `no-referrer`, Chromium would send
 * `Origin: null` with our own forms.
 */
export const PAGE_HEADERS = {
  ...FIXED_HEADERS,
  'content-security-policy': POLICY,
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': FEATURES.map((feature) => `${feature}=()`).join(', '),
} as const

/** The headers of a page on which a passkey is made or used. */
export const PASSKEY_HEADERS = {
  'content-security-policy': `${SCRIPT_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`,
  'permissions-policy': FEATURES.map((feature) =>
    feature.startsWith('publickey-credentials-') ? `${feature}=(self)` : `${feature}=()`,
  ).join(', '),
} as const
