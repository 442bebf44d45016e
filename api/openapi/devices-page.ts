// The page at /docs/devices: `DEVICES.md` as HTML. The build writes it, because the service has no Markdown with it.
import { page } from './html-page.ts'
import { markdownHtml } from './markdown.ts'

export function devicesPage(markdown: string): string {
  const [first = ''] = markdown.split('\n', 1)
  const links = '<p><a href="/docs">REST</a> · <a href="/docs/async">MQTT and /ws</a></p>'
  return page(first.replace('# ', ''), `${links}${markdownHtml(markdown.slice(first.length))}`)
}
