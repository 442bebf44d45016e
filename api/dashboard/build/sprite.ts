// One SVG file with the icons that the dashboard uses, made of the lucide collection (ISC). `import 'virtual:sprite'`
// gives its address; an icon is `<use href="…#name">`.
import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { ICONS } from './icons.ts'

const VIRTUAL = 'virtual:sprite'
const WHILE_DEVELOPING = '/dev/sprite.svg'
const COLLECTION = 'node_modules/@iconify-json/lucide/icons.json'

interface Collection {
  readonly icons: Readonly<Record<string, { readonly body: string }>>
  readonly aliases?: Readonly<Record<string, { readonly parent: string }>>
}

export function sprite(root: string): Plugin {
  let isBuild = false
  return {
    name: 'fleet-sprite',
    configResolved(config) {
      isBuild = config.command === 'build'
    },
    resolveId: (id) => (id === VIRTUAL ? `\0${VIRTUAL}` : null),
    configureServer({ middlewares }) {
      // Browsers take no icon out of a `data:` address.
      middlewares.use(WHILE_DEVELOPING, (_request, response) => {
        response.setHeader('content-type', 'image/svg+xml').end(spriteOf(root))
      })
    },
    load(id) {
      if (id !== `\0${VIRTUAL}`) return null
      if (!isBuild) return `export default ${JSON.stringify(WHILE_DEVELOPING)}`
      const source = spriteOf(root)
      const file = this.emitFile({ type: 'asset', name: 'sprite.svg', source })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    },
  }
}

function spriteOf(root: string): string {
  const { icons, aliases = {} } = JSON.parse(readFileSync(`${root}/${COLLECTION}`, 'utf8')) as Collection
  const symbols = ICONS.map((name) => {
    const icon = icons[name] ?? icons[aliases[name]?.parent ?? '']
    if (icon === undefined) throw new Error(`lucide has no icon "${name}": see ${COLLECTION}`)
    return `<symbol id="${name}" viewBox="0 0 24 24">${icon.body}</symbol>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`
}
