// The headers of the dashboard's pages: they run and load what this service serves, and nothing else.

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types fleet',
].join('; ')

/** Names that browsers know: they complain of others. */
const FEATURES_OFF = [
  ...['accelerometer', 'autoplay', 'camera', 'display-capture', 'encrypted-media', 'fullscreen'],
  ...['geolocation', 'gyroscope', 'hid', 'idle-detection', 'local-fonts', 'magnetometer', 'microphone'],
  ...['midi', 'payment', 'picture-in-picture', 'publickey-credentials-create', 'publickey-credentials-get'],
  ...['screen-wake-lock', 'serial', 'usb', 'xr-spatial-tracking'],
]

const HEADERS = {
  'content-security-policy': POLICY,
  'permissions-policy': FEATURES_OFF.map((name) => `${name}=()`).join(', '),
}
const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

export function dashboardHeaders(isTrustworthy: boolean): Readonly<Record<string, string>> {
  return isTrustworthy ? { ...HEADERS, ...ISOLATION } : HEADERS
}
