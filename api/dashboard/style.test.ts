// The styles of the dashboard: colours and sizes are those of the tokens, and texts can be read on what they stand on.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const APP = fileURLToPath(new URL('./app/', import.meta.url))
const TOKENS = readFileSync(`${APP}style/tokens.css`, 'utf8')

/** Declarations of all styles but the tokens, as "file: property: value". */
const declarations = readdirSync(APP, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.css') && file !== 'style/tokens.css')
  .flatMap((file) => {
    const text = readFileSync(APP + file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
    return [...text.matchAll(/([a-z-]+):\s*([^;{}]+);/g)].map(([, property = '', value = '']) => {
      return { file, property, value: value.trim() }
    })
  })

function strays(fits: RegExp, isRight: (value: string) => boolean): readonly string[] {
  return declarations
    .filter(({ property, value }) => fits.test(property) && !isRight(value))
    .map(({ file, property, value }) => `${file}: ${property}: ${value}`)
}

describe('the styles of the dashboard', () => {
  test('colours are tokens', () => {
    // A veil behind a dialog darkens whatever is under it.
    const isToken = (value: string) =>
      !/#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch|oklab)\(/i.test(value) || value === 'rgb(0 0 0 / 45%)'
    expect(declarations.length).toBeGreaterThan(500)
    expect(strays(/./, isToken)).toEqual([])
  })

  test('sizes of text are tokens, or a share of the text around it', () => {
    expect(strays(/^font(-size)?$/, (value) => /var\(--text-|^inherit$|^[\d.]+em$/.test(value))).toEqual([])
  })

  test('room between parts is that of the tokens', () => {
    const isSpace = (value: string) => !/\d(px|rem|em)\b/.test(value.replaceAll(/calc\([^;]*\)/g, ''))
    expect(strays(/^(padding|margin|gap|row-gap|column-gap)/, isSpace)).toEqual([])
  })

  test.each(['light', 'dark'])(
    'texts have a contrast of 4.5 to what they stand on, and lines of controls 3, in the %s theme',
    (theme) => {
      const colour = (name: string) => {
        const both = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(TOKENS)
        return luminance((theme === 'light' ? both?.[1] : both?.[2]) ?? '')
      }
      const ratio = (one: string, other: string) => {
        const [dark = 0, light = 0] = [colour(one), colour(other)].sort((a, b) => a - b)
        return (light + 0.05) / (dark + 0.05)
      }
      const texts = [
        'text',
        'muted',
        'accent',
        'online',
        'offline',
        'error',
        'maintenance',
        'provisioning',
        'decommissioned',
      ]
      const weak = [
        ...texts.flatMap((name) => ['surface', 'bg'].map((ground) => [name, ground, 4.5] as const)),
        ['on-accent', 'accent', 4.5] as const,
        ['line-strong', 'surface', 3] as const,
      ].filter(([name, ground, least]) => !(ratio(name, ground) >= least))
      expect(weak).toEqual([])
    },
  )
})

/** [WCAG 2.2: relative luminance] */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
