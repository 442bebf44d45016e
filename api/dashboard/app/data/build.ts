// Whether the service has another build of this page than the one that runs here: it says which with every answer.
import { signal } from '@preact/signals'

const HEADER = 'x-fleet-build'

/** A load would bring another page. Nobody is made to: what is being written would be lost. */
export const isOutdated = signal(false)

let own: string | null = null

/** The first answer comes with the page, so its build is the one that runs. */
export function noteBuild(headers: Headers): void {
  const build = headers.get(HEADER)
  if (build === null) return
  own ??= build
  isOutdated.value = build !== own
}
