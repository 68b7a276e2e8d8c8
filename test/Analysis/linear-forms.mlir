// RUN: d2k-opt %s --test-linear-forms -split-input-file -verify-diagnostics -o /dev/null

kern.object external shared @s align 16

kern.func entry visible @offsets(%pn: i64 {kern.name = "n", kern.size = 4 : i64}, %pm: i64 {kern.name = "m", kern.size = 4 : i64}) {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %m = kern.load "ld.param.u32" param u32 [%pm : i64] -> i32
  %again = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %tid = kern.special "mov.u32" "tid.x" : i32
  %block = kern.special "mov.u32" "ctaid.x" : i32
  %c2 = kern.constant 2 : i32
  %c31 = kern.constant 31 : i32
  %c16 = kern.constant 16 : i32
  %c64 = kern.constant 64 : i32
  %s = kern.address_of @s : i32
  %t = kern.arith "and.b32" and b32 (%tid, %c31) : (i32, i32) -> i32
  %o = kern.arith "shl.b32" shl b32 (%n, %c2) : (i32, i32) -> i32
  %a = kern.arith "add.u32" add u32 (%s, %o) : (i32, i32) -> i32
  %w = kern.arith "mad.lo.u32" mad_lo u32 (%t, %c16, %a) : (i32, i32, i32) -> i32
  // Four times a parameter, and 16 bytes for each of 32 threads.
  // expected-remark @+1 {{at 4*launch0 + [0, 496], stores launch0}}
  kern.store "st.shared.u32" shared u32 [%w : i32], %n : i32
  // A parameter that is loaded again is the same number; another one is not.
  // expected-remark @+1 {{at 4*launch0, stores launch0}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %again : i32
  // expected-remark @+1 {{at 4*launch0, stores launch1}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %m : i32
  // The constants of a sum are added up.
  %b = kern.arith "add.u32" add u32 (%s, %c64) : (i32, i32) -> i32
  %c = kern.arith "sub.u32" sub u32 (%b, %c16) : (i32, i32) -> i32
  // The product of two parameters is a number of the launch, too; that of a
  // parameter and the block's number is not.
  %nm = kern.arith "mul.lo.u32" mul_lo u32 (%n, %m) : (i32, i32) -> i32
  // expected-remark @+1 {{at 48, stores launch2}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %nm : i32
  %nb = kern.arith "mul.lo.u32" mul_lo u32 (%n, %block) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at 48, stores index{{[0-9]+}}}}
  kern.store "st.shared.u32" shared u32 [%c : i32], %nb : i32
  kern.exit
}

// -----

kern.object external shared @s align 16

kern.func entry visible @steps(%pn: i64 {kern.name = "n", kern.size = 4 : i64}) {
  %n = kern.load "ld.param.u32" param u32 [%pn : i64] -> i32
  %c0 = kern.constant 0 : i32
  %c1 = kern.constant 1 : i32
  %c64 = kern.constant 64 : i32
  %s = kern.address_of @s : i32
  kern.br ^loop(%c0, %c0, %s, %n : i32, i32, i32, i32)
^loop(%i: i32, %k: i32, %a: i32, %x: i32):
  %i1 = kern.arith "add.u32" add u32 (%i, %c1) : (i32, i32) -> i32
  %k1 = kern.arith "add.u32" add u32 (%k, %c64) : (i32, i32) -> i32
  // Iterations of one loop are one symbol, whatever the step.
  // expected-remark-re @+1 {{at loop{{[0-9]+}}, stores loop{{[0-9]+}} + 1}}
  kern.store "st.shared.u32" shared u32 [%i : i32], %i1 : i32
  // expected-remark-re @+1 {{at 64*loop{{[0-9]+}}, stores 64*loop{{[0-9]+}} + 64}}
  kern.store "st.shared.u32" shared u32 [%k : i32], %k1 : i32
  // A step that the launch chooses.
  %a1 = kern.arith "add.u32" add u32 (%a, %n) : (i32, i32) -> i32
  // What is doubled has no step.
  %x1 = kern.arith "add.u32" add u32 (%x, %x) : (i32, i32) -> i32
  // expected-remark-re @+1 {{at loop{{[0-9]+}}, stores other{{[0-9]+}}}}
  kern.store "st.shared.u32" shared u32 [%a : i32], %x : i32
  %more = kern.compare "setp.lt.u32" lt u32 (%i1, %n) : (i32, i32) -> i1
  kern.cond_br %more, ^loop(%i1, %k1, %a1, %x1 : i32, i32, i32, i32), ^done
^done:
  kern.exit
}
