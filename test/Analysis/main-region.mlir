// RUN: d2k-opt %s --test-main-region -split-input-file -verify-diagnostics -o /dev/null

// A dot product in a loop; the loop before it, which only counts, is not it.
// expected-remark @+1 {{main loops L1}}
kern.func entry visible @dot(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  kern.br ^count(%c0 : i32)
^count(%j: i32):
  %j1 = kern.arith "add.u32" add u32 (%j, %c1) : (i32, i32) -> i32
  %p = kern.compare "setp.lt.u32" lt u32 (%j1, %n) : (i32, i32) -> i1
  kern.cond_br %p, ^count(%j1 : i32), ^loop(%c0, %c0 : i32, i32)
^loop(%i: i32, %s: i32):
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  %t = kern.arith "fma.rn.f32" fma f32 (%a, %a, %s) : (i32, i32, i32) -> i32
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %q = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %q, ^loop(%i1, %t : i32, i32), ^end
^end:
  kern.store "st.global.f32" global f32 [%x : i64], %t : i32
  kern.exit
}

// -----

// No loop: the body.
// expected-remark @+1 {{main body}}
kern.func entry visible @straight(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.store "st.global.f32" global f32 [%x : i64], %a : i32
  kern.exit
}

// -----

// A loop that moves data without a product: not decided.
// expected-remark @+1 {{main unknown: no product of inputs reaches an output}}
kern.func entry visible @copy(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %c0 = kern.constant 0 : i32
  kern.br ^loop
^loop:
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.store "st.global.f32" global f32 [%x : i64], %a : i32
  %p = kern.compare "setp.ne.u32" ne u32 (%a, %c0) : (i32, i32) -> i1
  kern.cond_br %p, ^loop, ^end
^end:
  kern.exit
}

// -----

// No loop, and three times the same: load, barrier, product.
// expected-remark @+1 {{main body, unrolled 3 times}}
kern.func entry visible @unrolled(%px: i64 {kern.name = "x", kern.size = 8 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %c0 = kern.constant 0 : i32
  %a0 = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.barrier "bar.sync" sync %c0 : i32
  %s0 = kern.arith "fma.rn.f32" fma f32 (%a0, %a0, %c0) : (i32, i32, i32) -> i32
  %a1 = kern.load "ld.global.f32" global f32 [%x + 4 : i64] -> i32
  kern.barrier "bar.sync" sync %c0 : i32
  %s1 = kern.arith "fma.rn.f32" fma f32 (%a1, %a1, %s0) : (i32, i32, i32) -> i32
  %a2 = kern.load "ld.global.f32" global f32 [%x + 8 : i64] -> i32
  kern.barrier "bar.sync" sync %c0 : i32
  %s2 = kern.arith "fma.rn.f32" fma f32 (%a2, %a2, %s1) : (i32, i32, i32) -> i32
  kern.store "st.global.f32" global f32 [%x : i64], %s2 : i32
  kern.exit
}

// -----

// Two products in two loops, by different instructions: both are main loops. The
// third one has a thousandth of the work.
// expected-remark @+1 {{main loops L0.0 L0.1}}
kern.func entry visible @two(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c2 = kern.constant 2 : i32
  %c2048 = kern.constant 2048 : i32
  kern.br ^tile(%c0, %c0 : i32, i32)
^tile(%i: i32, %o: i32):
  kern.br ^first(%c0, %o : i32, i32)
^first(%j: i32, %s: i32):
  %a = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  %t = kern.arith "fma.rn.f32" fma f32 (%a, %a, %s) : (i32, i32, i32) -> i32
  %j1 = kern.arith "add.u32" add u32 (%j, %c1) : (i32, i32) -> i32
  %p = kern.compare "setp.lt.u32" lt u32 (%j1, %c2048) : (i32, i32) -> i1
  kern.cond_br %p, ^first(%j1, %t : i32, i32), ^middle
^middle:
  kern.br ^second(%c0, %t : i32, i32)
^second(%k: i32, %u: i32):
  %b = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  %v = kern.arith "fma.rz.f32" fma f32 (%b, %b, %u) : (i32, i32, i32) -> i32
  %k1 = kern.arith "add.u32" add u32 (%k, %c1) : (i32, i32) -> i32
  %q = kern.compare "setp.lt.u32" lt u32 (%k1, %c2048) : (i32, i32) -> i1
  kern.cond_br %q, ^second(%k1, %v : i32, i32), ^last
^last:
  kern.br ^third(%c0, %v : i32, i32)
^third(%l: i32, %w: i32):
  %c = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  %y = kern.arith "fma.rm.f32" fma f32 (%c, %c, %w) : (i32, i32, i32) -> i32
  %l1 = kern.arith "add.u32" add u32 (%l, %c1) : (i32, i32) -> i32
  %r = kern.compare "setp.lt.u32" lt u32 (%l1, %c2) : (i32, i32) -> i1
  kern.cond_br %r, ^third(%l1, %y : i32, i32), ^next
^next:
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %z = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %z, ^tile(%i1, %y : i32, i32), ^end
^end:
  kern.store "st.global.f32" global f32 [%x : i64], %y : i32
  kern.exit
}

// -----

// One factor is loaded in the inner loop, the other one staged around it: the
// outer loop brings data.
kern.object internal shared @s size 4096 align 16
// expected-remark @+1 {{main loops L0}}
kern.func entry visible @staged(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %py: i64 {kern.name = "y", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %y = kern.load "ld.param.u64" param u64 [%py : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %s = kern.address_of @s : i32
  kern.br ^stage(%c0, %c0 : i32, i32)
^stage(%i: i32, %o: i32):
  %v = kern.load "ld.global.f32" global f32 [%x : i64] -> i32
  kern.store "st.shared.f32" shared f32 [%s : i32], %v : i32
  kern.barrier "bar.sync" sync %c0 : i32
  kern.br ^inner(%c0, %o : i32, i32)
^inner(%j: i32, %sum: i32):
  %a = kern.load "ld.shared.f32" shared f32 [%s : i32] -> i32
  %b = kern.load "ld.global.f32" global f32 [%y : i64] -> i32
  %t = kern.arith "fma.rn.f32" fma f32 (%a, %b, %sum) : (i32, i32, i32) -> i32
  %j1 = kern.arith "add.u32" add u32 (%j, %c1) : (i32, i32) -> i32
  %p = kern.compare "setp.lt.u32" lt u32 (%j1, %n) : (i32, i32) -> i1
  kern.cond_br %p, ^inner(%j1, %t : i32, i32), ^next
^next:
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %q = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %q, ^stage(%i1, %t : i32, i32), ^end
^end:
  kern.store "st.global.f32" global f32 [%x : i64], %t : i32
  kern.exit
}

// -----

// What the outer loop puts there are sums of the last iteration: another layer.
kern.object internal shared @s size 4096 align 16
// expected-remark @+1 {{main loops L0.0}}
kern.func entry visible @layers(%px: i64 {kern.name = "x", kern.size = 8 : i64}, %py: i64 {kern.name = "y", kern.size = 8 : i64}, %pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %x = kern.load "ld.param.u64" param u64 [%px : i64] -> i64
  %y = kern.load "ld.param.u64" param u64 [%py : i64] -> i64
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %s = kern.address_of @s : i32
  kern.br ^stage(%c0, %c0 : i32, i32)
^stage(%i: i32, %o: i32):
  kern.store "st.shared.f32" shared f32 [%s : i32], %o : i32
  kern.barrier "bar.sync" sync %c0 : i32
  kern.br ^inner(%c0, %o : i32, i32)
^inner(%j: i32, %sum: i32):
  %a = kern.load "ld.shared.f32" shared f32 [%s : i32] -> i32
  %b = kern.load "ld.global.f32" global f32 [%y : i64] -> i32
  %t = kern.arith "fma.rn.f32" fma f32 (%a, %b, %sum) : (i32, i32, i32) -> i32
  %j1 = kern.arith "add.u32" add u32 (%j, %c1) : (i32, i32) -> i32
  %p = kern.compare "setp.lt.u32" lt u32 (%j1, %n) : (i32, i32) -> i1
  kern.cond_br %p, ^inner(%j1, %t : i32, i32), ^next
^next:
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %q = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %q, ^stage(%i1, %t : i32, i32), ^end
^end:
  kern.store "st.global.f32" global f32 [%x : i64], %t : i32
  kern.exit
}
