// Compiles the samples in C and C++ against stub headers, because ESP-IDF and Arduino are not installed here.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const has = (compiler: string) => spawnSync(compiler, ['--version']).status === 0

const FLAGS = ['-fsyntax-only', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror']
const SAMPLES = {
  // Headers in angle brackets are those of the C library.
  c: { compiler: 'gcc', flags: ['-std=gnu17', '-x', 'c'], headers: /#include "(.+)"/g },
  arduino: { compiler: 'g++', flags: ['-std=gnu++17', '-x', 'c++'], headers: /#include <(.+)>/g },
}

/** Returns the errors and warnings of the compiler. Each header that the sample includes gets all `declarations`. */
function compile(kind: keyof typeof SAMPLES, text: string, declarations: string): string {
  const { compiler, flags, headers } = SAMPLES[kind]
  const folder = mkdtempSync(join(tmpdir(), 'fleet-sample-'))
  try {
    for (const [, header = ''] of text.matchAll(headers)) {
      mkdirSync(dirname(join(folder, header)), { recursive: true })
      writeFileSync(join(folder, header), `#pragma once\n#include "${declarations}"\n`)
    }
    const args = [...FLAGS, ...flags, '-I', folder, '-']
    const { status, stderr } = spawnSync(compiler, args, { input: text, encoding: 'utf8' })
    return status === 0 ? stderr : `${status}: ${stderr}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test.skipIf(!has('gcc'))('the sample for ESP-IDF compiles without errors and warnings', () => {
  const text = readFileSync(pathOf('../examples/esp-idf/main/main.c'), 'utf8')
  expect(compile('c', text, pathOf('esp-idf.h'))).toBe('')
})

test.skipIf(!has('g++'))('the sample for Arduino in the guide compiles without errors and warnings', () => {
  const guide = readFileSync(pathOf('../../../api/DEVICES.md'), 'utf8')
  const [, text = ''] = /```cpp\n([\s\S]*?)\n```/.exec(guide) ?? []
  expect(text).toContain('void loop()')
  expect(compile('arduino', text, pathOf('arduino.h'))).toBe('')
})
