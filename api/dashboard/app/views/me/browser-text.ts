import { plainText } from '../../parts/plain-text.ts'

/** Several browsers say that they are others, too, so the more particular name comes first. */
const BROWSERS = [
  [/Edg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/OPR\/(\d+)/, 'Opera'],
  [/(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'],
  [/(?:Chrome|CriOS)\/(\d+)/, 'Chrome'],
  [/Version\/(\d+).* Safari/, 'Safari'],
] as const
const SYSTEMS = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const

/** What is told of a browser by what it says of itself: "Chrome 156, Linux". Another program is named as it names itself. */
export function browserText(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))
  if (browser === undefined) return plainText(userAgent)
  const [pattern, name] = browser
  const version = pattern.exec(userAgent)?.[1] ?? ''
  const system = SYSTEMS.find(([sign]) => sign.test(userAgent))?.[1]
  return [`${name} ${version}`, system].filter((part) => part !== undefined).join(', ')
}
