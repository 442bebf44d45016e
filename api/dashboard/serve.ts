// Serves the dashboard: its files, and its one page for every address that is not the API's.
import type { PageAnswer, PageRequest, Pages } from '../http/pages.ts'
import { type Assets, assetAnswer, type ReadAssets } from './assets.ts'
import { dashboardHeaders } from './headers.ts'
import { unbuiltPage } from './unbuilt-page.ts'

/** What is below these is no address of the dashboard, so it is answered with a problem if it does not exist. */
const NOT_PAGES = [
  ...['/api', '/ws', '/docs', '/problems', '/metrics', '/livez', '/readyz', '/healthz', '/.well-known'],
  ...['/assets', '/ota/artifacts'],
]

export function createDashboard(read: ReadAssets): Pages {
  if (read.kind !== 'assets') return missingDashboard(read)
  return read.assets.has('/index.html')
    ? builtDashboard(read.assets, read.hash)
    : missingDashboard({ kind: 'missing' })
}

function builtDashboard(assets: Assets, build: string): Pages {
  return {
    build,
    answer(request) {
      const found = assets.get(isPage(request) ? '/index.html' : request.path)
      return found && assetAnswer(found, request, dashboardHeaders(request.isTrustworthy))
    },
  }
}

/** Somebody who opens the address of the service in a browser is told what to do. */
function missingDashboard(why: Exclude<ReadAssets, { readonly kind: 'assets' }>): Pages {
  return {
    build: undefined,
    answer: (request): PageAnswer | undefined =>
      request.path === '/' && isPage(request) ? unbuiltPage(why) : undefined,
  }
}

/** A browser asks for a page, and not for a file or an answer of the API. */
function isPage({ path, headers }: PageRequest): boolean {
  if (!/\btext\/html\b/i.test(headers.accept ?? '')) return false
  return !NOT_PAGES.some((area) => path === area || path.startsWith(`${area}/`))
}
