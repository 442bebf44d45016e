// Serves the files of `/docs` that the build made: those of Swagger UI, and the guide to devices.
import type { PageRequest, Pages } from '../http/pages.ts'
import { assetAnswer, type ReadAssets } from './assets.ts'

const ROOT = '/docs'
const DEVICES = `${ROOT}/devices`

/** `devicesHeaders` are those of the guide, whose style is inline. */
export function createDocs(read: ReadAssets, devicesHeaders: Readonly<Record<string, string>>): Pages {
  const assets = read.kind === 'assets' ? read.assets : new Map<string, never>()
  return {
    build: undefined,
    answer(request: PageRequest) {
      const { path } = request
      if (!path.startsWith(`${ROOT}/`)) return undefined
      const isDevices = path === DEVICES
      const asset = assets.get(isDevices ? '/devices.html' : path.slice(ROOT.length))
      return asset && assetAnswer(asset, request, isDevices ? devicesHeaders : {})
    },
  }
}

/** The first that has the page answers. */
export function joinPages(...all: readonly Pages[]): Pages {
  return {
    build: all.find(({ build }) => build !== undefined)?.build,
    answer(request) {
      for (const pages of all) {
        const found = pages.answer(request)
        if (found !== undefined) return found
      }
      return undefined
    },
  }
}
