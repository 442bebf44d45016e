// Checks the Dockerfile as far as that is possible without building an image.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const dockerfile = readFileSync(new URL('Dockerfile', import.meta.url), 'utf8')
const ignored = readFileSync(new URL('.dockerignore', ROOT), 'utf8').split('\n')
const stages = new Map(
  dockerfile
    .split(/^FROM /m)
    .slice(1)
    .map((text) => [/ AS ([\w-]+)/.exec(text)?.[1] ?? '', text] as const),
)
const stage = (name: string): string => stages.get(name) ?? expect.fail(`no stage ${name}`)

test('the cluster image leaves out the packages of the embedded profile and starts without them', () => {
  const removed = new Set(
    [...stage('build-cluster').matchAll(/node_modules\/(@?[\w-]+)/g)].map(([, name = '']) => name),
  )
  expect([...removed]).toEqual(expect.arrayContaining(['chdb', 'lmdb']))
  const program = new URL('dist/program/', ROOT)
  const profile = readdirSync(program).find((name) => /^cluster-[\w-]+\.js$/.test(name))
  const reached = new Set(['service.js', profile ?? expect.fail('the program has no profile for a cluster')])
  const packages = new Map<string, string>()
  for (const name of reached) {
    const text = readFileSync(new URL(name, program), 'utf8')
    for (const [, target = ''] of text.matchAll(/^(?:import|export)\b[^;]*?["']([^"']+)["'];$/gm)) {
      if (target.startsWith('./')) reached.add(target.slice(2))
      else packages.set(target.split('/')[0] ?? '', name)
    }
  }
  expect([...packages.keys()]).toContain('fastify')
  expect(reached.size).toBeGreaterThan(10)
  expect([...packages].filter(([name]) => removed.has(name))).toEqual([])
})

test('the service runs as an ordinary user and does not own its program files', () => {
  for (const name of ['cluster', 'embedded']) {
    expect(stage(name)).toMatch(/^USER node$/m)
    expect(stage(name)).not.toMatch(/COPY .*--chown/)
  }
  expect(stage('run')).toMatch(/^CMD \["node", "dist\/program\/service\.js"\]$/m)
  expect(stage('run')).toMatch(/^HEALTHCHECK /m)
})

test('the image uses glibc, since some packages have no builds for musl', () => {
  expect(/^ARG NODE=(.+)$/m.exec(dockerfile)?.[1]).toMatch(/^node:\d+-bookworm-slim$/)
})

test('every copied file exists and is not ignored by the build', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) =>
    paths.split(' '),
  )
  expect(copied.length).toBeGreaterThan(5)
  for (const path of copied) {
    expect([path, existsSync(new URL(path, ROOT))]).toEqual([path, true])
    expect(ignored).toContain(`!${path}`)
  }
  expect(ignored.slice(1, 2)).toEqual(['*'])
  expect(ignored.indexOf('deploy/secrets')).toBeGreaterThan(ignored.indexOf('!deploy'))
})
