import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SOCKET_PATHS } from '../../schemas/ws.ts'

const conf = readFileSync(new URL('nginx.conf', import.meta.url), 'utf8').replaceAll(/#.*$/gm, '')

test('no log of nginx contains the token or the ticket of a socket', () => {
  const formats = conf.match(/log_format[^;]+;/g) ?? []
  expect(formats).toHaveLength(1)
  // `$uri` is the path alone, while `$request`, `$request_uri` and `$args` contain the query.
  expect(formats.join()).not.toMatch(/\$(?:request(?!_method|_time)|args|query_string|http_referer|is_args)/)
  const [, pattern = '', ws = ''] = /location ~ (\S*ws\S*) \{([^}]*)\}/.exec(conf) ?? []
  const paths = [...SOCKET_PATHS, '/wss', '/ws/x', '/api/v1/devices']
  expect(paths.filter((path) => new RegExp(pattern).test(path))).toEqual(SOCKET_PATHS)
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

test('an entity tag that compression made weak is as good in If-Match as the one that the service sent', () => {
  const [, pattern = '', named] =
    /map \$http_if_match \$strong_if_match \{[^}]*"~([^"]+)" (\$\w+);/.exec(conf) ?? []
  expect(named).toBe('$tag')
  expect(new RegExp(pattern).exec('W/"8-n66kn5"')?.groups).toEqual({ tag: '"8-n66kn5"' })
  expect('"8-n66kn5"').not.toMatch(new RegExp(pattern))
  expect(conf).toMatch(/map \$http_if_match \$strong_if_match \{\s*default \$http_if_match;/)
  expect(conf).toContain('proxy_set_header If-Match $strong_if_match;')
})

test('a firmware image of any size is passed on without buffering', () => {
  expect(conf.match(/client_max_body_size [^;]*;/g)).toEqual(['client_max_body_size 0;'])
  expect(conf).toMatch(/\bproxy_request_buffering off;/)
})
