import { expect, test } from 'vitest'
import { emailBody } from './email-body.ts'
import { alertMessage, alertMessageOf } from './testing/alert-message.ts'
import { HOSTILE_VALUES } from './testing/hostile-values.ts'

test('a mail says everything twice: as text and as HTML', () => {
  const { subject, text, html } = emailBody(alertMessage())
  expect(subject).toBe('WARNING: battery low on Pump 7')
  for (const part of ['Pump 7', '17.5', '20', 'https://fleet.example.com/devices/pump-7']) {
    expect(text).toContain(part)
    expect(html).toContain(part)
  }
})

test('a subject of its own may have placeholders, and a test says that it is one', () => {
  expect(emailBody(alertMessage(), '[{{alert.severity}}] {{device.id}}').subject).toBe('[warning] pump-7')
  expect(emailBody(alertMessage({ event: 'test' }), 'hello').subject).toBe('TEST: hello')
})

test.each(HOSTILE_VALUES)('the value %j is text in a mail', (hostile) => {
  const { subject, text, html } = emailBody(alertMessageOf(hostile), '{{device.name}}')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through.
  expect(subject).not.toMatch(/[\u0000-\u001F]/)
  expect(text).toContain(hostile)
  expect(html).not.toMatch(/<(script|img)/)
  const cells = [...html.matchAll(/<td>([^<]*)<\/td>/g)].map(([, cell = '']) => unescapeHtml(cell))
  expect(cells[0]).toBe(hostile)
})

function unescapeHtml(text: string): string {
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
}
