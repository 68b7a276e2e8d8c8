// RUN: d2k-opt %s --test-uniformity -verify-diagnostics -o /dev/null

kern.func entry visible @f(%x: i64 {kern.name = "x", kern.size = 8 : i64}) {
  // expected-remark @+1 {{block}}
  %c5 = kern.constant 5 : i32
  // expected-remark @+1 {{block}}
  %c128 = kern.constant 128 : i32
  // expected-remark @+1 {{block}}
  %c100 = kern.constant 100 : i32
  // expected-remark @+1 {{thread}}
  %tid = kern.special "mov.u32" "tid.x" : i32
  // expected-remark @+1 {{block}}
  %block = kern.special "mov.u32" "ctaid.x" : i32
  // expected-remark @+1 {{warp}}
  %warp = kern.arith "shr.u32" shr u32 (%tid, %c5) : (i32, i32) -> i32
  // The border lies between two warps, or inside one.
  // expected-remark @+1 {{warp}}
  %a = kern.compare "setp.lt.u32" lt u32 (%tid, %c128) : (i32, i32) -> i1
  // expected-remark @+1 {{thread}}
  %b = kern.compare "setp.lt.u32" lt u32 (%tid, %c100) : (i32, i32) -> i1
  // expected-remark @+1 {{block}}
  %c = kern.compare "setp.lt.u32" lt u32 (%block, %c100) : (i32, i32) -> i1
  kern.exit
}
