// The address of a service, as people write it.
import { EXIT, Failure } from './failure.ts'

/** Two addresses of one service are the same text, however many slashes they end with. */
export function serviceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href.replace(/(?<!\/)\/+$/, '')
  throw new Failure(
    EXIT.usage,
    `${text} is not the URL of a service; expected a URL such as http://localhost:8000`,
  )
}
