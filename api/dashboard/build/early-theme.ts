// The script that runs before the first paint: with it, a dark page never flashes white. It is a file of its own, because the
// page's policy allows no script inside of the page, and it waits for nothing else.
import type { Plugin } from 'vite'

/** The key and the names are those of `app/data/preferences.ts`. */
const EARLY_THEME = `try {
  const kept = JSON.parse(localStorage.getItem('fleet-preferences')) ?? {}
  for (const name of ['theme', 'density'])
    if (typeof kept[name] === 'string') document.documentElement.dataset[name] = kept[name]
} catch {}
`

export function earlyTheme(): Plugin {
  let file: string | undefined
  return {
    name: 'fleet-early-theme',
    apply: 'build',
    buildStart() {
      file = this.emitFile({ type: 'asset', name: 'theme.js', source: EARLY_THEME })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        const made = Object.values(bundle).find(({ fileName }) => /^assets\/theme-.*\.js$/.test(fileName))
        if (file === undefined || made === undefined) throw new Error('the theme script is not in the build')
        return [{ tag: 'script', attrs: { src: `/${made.fileName}` }, injectTo: 'head-prepend' }]
      },
    },
  }
}
