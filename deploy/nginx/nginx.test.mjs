import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const conf = readFileSync(new URL('nginx.conf', import.meta.url), 'utf8').replaceAll(/#.*$/gm, '')

test('no log of nginx contains the token or the ticket of a socket', () => {
  const formats = conf.match(/log_format[^;]+;/g) ?? []
  expect(formats).toHaveLength(1)
  // `$uri` is the path alone, while `$request`, `$request_uri` and `$args` contain the query.
  expect(formats.join()).not.toMatch(/\$(?:request(?!_method|_time)|args|query_string|http_referer|is_args)/)
  const [, ws = ''] = /location = \/ws \{([^}]*)\}/.exec(conf) ?? []
  // Lower levels would log the whole request line.
  expect(ws).toMatch(/error_log \/dev\/stderr (?:crit|alert|emerg);/)
  expect(ws).toContain('proxy_pass http://fleet;')
  // A location that sets headers of its own would lose the shared ones.
  expect(ws).not.toContain('proxy_set_header')
})

test('long answers of the API are compressed', () => {
  expect(conf).toMatch(/\bgzip on;/)
  // Without this setting nginx compresses no answer of the service.
  expect(conf).toMatch(/\bgzip_proxied any;/)
  expect(conf).toMatch(/gzip_types [^;]*application\/json /)
})

test('a firmware image of any size is passed on without buffering', () => {
  expect(conf.match(/client_max_body_size [^;]*;/g)).toEqual(['client_max_body_size 0;'])
  expect(conf).toMatch(/\bproxy_request_buffering off;/)
})
